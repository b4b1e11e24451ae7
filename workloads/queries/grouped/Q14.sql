select ol_number, sum(ol_amount)
from item, orderline
where ol_i_id = i_id
  and i_data like '[CHAR1][CHAR2]%'
  and ol_delivery_d >= date '[DATE]'
group by ol_number
