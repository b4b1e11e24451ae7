select w_id, w_ytd, paid
from warehouse
  left join (select h_w_id, sum(h_amount) as paid from history group by h_w_id) h on w_id = h_w_id
where w_ytd < coalesce(paid, 0)
