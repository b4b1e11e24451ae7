select o_w_id, o_d_id, o_id, o_ol_cnt, actual
from orders
  left join (select ol_w_id, ol_d_id, ol_o_id, count(*) as actual
             from orderline
             group by ol_w_id, ol_d_id, ol_o_id) l
    on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
where o_ol_cnt <> coalesce(actual, 0)
