select ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id
from orderline
  left join orders on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
where o_id is null
  or (ol_delivery_d is null and o_carrier_id is not null)
  or (ol_delivery_d is not null and o_carrier_id is null)
