select d_w_id, d_id, d_ytd, paid
from district
  left join (select h_w_id, h_d_id, sum(h_amount) as paid from history group by h_w_id, h_d_id) h
    on d_w_id = h_w_id and d_id = h_d_id
where d_ytd < coalesce(paid, 0)
