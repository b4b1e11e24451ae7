select sn.n_name, sum(ol_amount)
from region cr, region sr, nation cn, nation sn, customer, supplier, orders, orderline
where cn.n_regionkey = cr.r_regionkey
  and sn.n_regionkey = sr.r_regionkey
  and ascii(substr(c_state, 1, 1)) = cn.n_nationkey
  and su_nationkey = sn.n_nationkey
  and c_w_id = o_w_id
  and c_d_id = o_d_id
  and c_id = o_c_id
  and ol_w_id = o_w_id
  and ol_d_id = o_d_id
  and ol_o_id = o_id
  and mod(ol_supply_w_id * ol_i_id, 10000) = su_suppkey
  and cr.r_name = '[RNAME]'
  and sr.r_name = '[RNAME]'
group by sn.n_name
