select w_id, w_ytd, districts
from warehouse
  left join (select d_w_id, sum(d_ytd) as districts from district group by d_w_id) d on w_id = d_w_id
where districts is null or w_ytd <> districts
