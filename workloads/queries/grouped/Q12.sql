select o_ol_cnt, count(*)
from orders, orderline
where ol_w_id = o_w_id
  and ol_d_id = o_d_id
  and ol_o_id = o_id
  and ol_delivery_d >= date '[DATE]'
  and o_carrier_id between 1 and 2
group by o_ol_cnt
