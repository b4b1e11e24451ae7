select c_w_id, c_d_id, c_id, c_ytd_payment, paid, payments
from customer
  left join (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as paid, count(*) as payments
             from history
             group by h_c_w_id, h_c_d_id, h_c_id) h
    on c_w_id = h_c_w_id and c_d_id = h_c_d_id and c_id = h_c_id
where coalesce(payments, 0) <> 1 or paid > c_ytd_payment
