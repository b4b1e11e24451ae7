select d_w_id, d_id, all_orders, waiting, deliveries
from district
  left join (select o_w_id, o_d_id, count(*) as all_orders from orders group by o_w_id, o_d_id) o
    on d_w_id = o_w_id and d_id = o_d_id
  left join (select no_w_id, no_d_id, count(*) as waiting from neworder group by no_w_id, no_d_id) n
    on d_w_id = no_w_id and d_id = no_d_id
  left join (select c_w_id, c_d_id, sum(c_delivery_cnt) as deliveries
             from customer
             group by c_w_id, c_d_id) c
    on d_w_id = c_w_id and d_id = c_d_id
where coalesce(all_orders, 0) - coalesce(waiting, 0) <> 2100 + coalesce(deliveries, 0)
