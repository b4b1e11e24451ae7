select ol_number, sum(ol_amount)
from orderline, item
where ol_i_id = i_id
  and i_data like '[CHAR1][CHAR2]%'
group by ol_number
