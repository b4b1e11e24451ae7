select ol_w_id, sum(ol_amount)
from item, orderline
where ol_i_id = i_id
  and i_data like '[CHAR]%'
  and i_price between [PRICE] and [PRICE] + 10
  and ol_quantity between 1 and 10
group by ol_w_id
