select ol_number, sum(ol_amount)
from orderline
where ol_delivery_d >= date '[DATE]'
group by ol_number
