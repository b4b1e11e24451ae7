select ol_w_id, count(*)
from item, nation, supplier, orderline
where ol_i_id = i_id
  and mod(ol_supply_w_id * ol_i_id, 10000) = su_suppkey
  and su_nationkey = n_nationkey
  and i_data like '[CHAR]%'
  and n_name = '[NNAME]'
group by ol_w_id
