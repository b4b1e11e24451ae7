select c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered
from customer
  left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as delivered
             from orders, orderline
             where ol_w_id = o_w_id
               and ol_d_id = o_d_id
               and ol_o_id = o_id
               and ol_delivery_d is not null
             group by o_w_id, o_d_id, o_c_id) o
    on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
where c_balance + c_ytd_payment <> coalesce(delivered, 0)
