select d_w_id, d_id, all_orders
from district
  left join (select o_w_id, o_d_id, count(*) as all_orders from orders group by o_w_id, o_d_id) o
    on d_w_id = o_w_id and d_id = o_d_id
where coalesce(all_orders, 0) <> 3000
