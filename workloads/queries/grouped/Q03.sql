select o_ol_cnt, sum(ol_amount)
from nation, customer, orders, orderline
where ascii(substr(c_state, 1, 1)) = n_nationkey
  and c_w_id = o_w_id
  and c_d_id = o_d_id
  and c_id = o_c_id
  and ol_w_id = o_w_id
  and ol_d_id = o_d_id
  and ol_o_id = o_id
  and n_name = '[NNAME]'
group by o_ol_cnt
