select ol_quantity, sum(ol_amount), sum(ol_quantity)
from item, orderline
where ol_i_id = i_id
  and i_data like '[CHAR]%'
  and ol_quantity >= [QUANTITY]
group by ol_quantity
