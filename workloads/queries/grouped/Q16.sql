select ol_supply_w_id, count(*)
from item, supplier, orderline
where ol_i_id = i_id
  and mod(ol_supply_w_id * ol_i_id, 10000) = su_suppkey
  and i_data not like '[CHAR1][CHAR2]%'
  and su_comment like '%Complaints%'
group by ol_supply_w_id
