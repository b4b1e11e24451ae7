select c_w_id, c_d_id, c_id, c_balance, delivered, paid
from customer
  left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as delivered
             from orders, orderline
             where ol_w_id = o_w_id
               and ol_d_id = o_d_id
               and ol_o_id = o_id
               and ol_delivery_d is not null
             group by o_w_id, o_d_id, o_c_id) o
    on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
  left join (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as paid
             from history
             group by h_c_w_id, h_c_d_id, h_c_id) h
    on c_w_id = h_c_w_id and c_d_id = h_c_d_id and c_id = h_c_id
where c_balance <> coalesce(delivered, 0) - coalesce(paid, 0)
