select no_w_id, no_d_id, min(no_o_id) as oldest, max(no_o_id) as newest, count(*) as waiting
from neworder
group by no_w_id, no_d_id
having max(no_o_id) - min(no_o_id) + 1 <> count(*)
