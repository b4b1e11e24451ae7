select s_w_id, sum(s_order_cnt)
from nation, supplier, stock
where su_nationkey = n_nationkey
  and mod(s_w_id * s_i_id, 10000) = su_suppkey
  and n_name = '[NNAME]'
group by s_w_id
