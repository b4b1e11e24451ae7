select n_name, sum(s_quantity)
from region, nation, supplier, stock, item
where n_regionkey = r_regionkey
  and su_nationkey = n_nationkey
  and mod(s_w_id * s_i_id, 10000) = su_suppkey
  and s_i_id = i_id
  and r_name = '[RNAME]'
  and i_data like '[CHAR]%'
group by n_name
