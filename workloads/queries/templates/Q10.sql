select sum(ol_amount)
from orderline
where ol_delivery_d >= date '[DATE]'
