select extract(year from o_entry_d), sum(ol_amount)
from nation cn, nation sn, customer, supplier, stock, orders, orderline
where ascii(substr(c_state, 1, 1)) = cn.n_nationkey
  and su_nationkey = sn.n_nationkey
  and mod(s_w_id * s_i_id, 10000) = su_suppkey
  and c_w_id = o_w_id
  and c_d_id = o_d_id
  and c_id = o_c_id
  and ol_w_id = o_w_id
  and ol_d_id = o_d_id
  and ol_o_id = o_id
  and ol_supply_w_id = s_w_id
  and ol_i_id = s_i_id
  and cn.n_name = '[NNAME_1]'
  and sn.n_name = '[NNAME_1]'
  and ol_delivery_d between date '2000-01-01' and date '2020-12-31'
group by extract(year from o_entry_d)
