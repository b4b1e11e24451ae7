select extract(year from o_entry_d), sum(ol_amount)
from region cr, nation cn, nation sn, customer, orders, orderline, item, supplier
where cn.n_regionkey = cr.r_regionkey
  and ascii(substr(c_state, 1, 1)) = cn.n_nationkey
  and su_nationkey = sn.n_nationkey
  and c_w_id = o_w_id
  and c_d_id = o_d_id
  and c_id = o_c_id
  and ol_w_id = o_w_id
  and ol_d_id = o_d_id
  and ol_o_id = o_id
  and ol_i_id = i_id
  and mod(ol_supply_w_id * ol_i_id, 10000) = su_suppkey
  and cr.r_name = '[RNAME]'
  and sn.n_name = '[NNAME]'
  and i_data like '[CHAR]%'
group by extract(year from o_entry_d)
