select d_w_id, d_id, d_next_o_id, newest, newest_waiting
from district
  left join (select o_w_id, o_d_id, max(o_id) as newest from orders group by o_w_id, o_d_id) o
    on d_w_id = o_w_id and d_id = o_d_id
  left join (select no_w_id, no_d_id, max(no_o_id) as newest_waiting
             from neworder
             group by no_w_id, no_d_id) n
    on d_w_id = no_w_id and d_id = no_d_id
where newest is null
  or d_next_o_id - 1 <> newest
  or (newest_waiting is not null and newest_waiting <> newest)
