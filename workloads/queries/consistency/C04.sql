select d_w_id, d_id, expected, actual
from district
  left join (select o_w_id, o_d_id, sum(o_ol_cnt) as expected from orders group by o_w_id, o_d_id) o
    on d_w_id = o_w_id and d_id = o_d_id
  left join (select ol_w_id, ol_d_id, count(*) as actual from orderline group by ol_w_id, ol_d_id) l
    on d_w_id = ol_w_id and d_id = ol_d_id
where coalesce(expected, 0) <> coalesce(actual, 0)
