-- Further queries of duckdb_differential_test.py: one or more per construct that is supported.
select count(*), count(o_carrier_id), min(o_carrier_id), max(o_carrier_id) from orders;
select o_carrier_id, count(*) from orders group by o_carrier_id order by o_carrier_id;
select o_d_id, count(distinct o_c_id), sum(o_ol_cnt), avg(o_ol_cnt) from orders group by o_d_id;
select sum(ol_amount), avg(ol_amount), min(ol_amount), max(ol_amount) from orderline;
select sum(ol_amount), count(*) from orderline where ol_amount > 100000;
select max(c_data), min(c_first), max(c_last) from customer;
select w_id, w_name, w_tax, w_ytd from warehouse;
select d_id, d_tax + 0.5, d_tax * d_ytd, d_ytd - 1, -d_ytd, d_next_o_id + 1 from district order
  by d_id;
select i_id, i_price from item where i_price between 99.50 and 100.00 order by i_id;
select i_id from item where i_id in (1, 5, 99999, 100001) order by i_id;
select count(*) from item where i_id not in (1, 5, 7);
select count(*) from item where i_data like '%ORIGINAL%';
select count(*) from item where i_data not like 'a%';
select count(*) from item where i_name like '_b%' or i_name like '%x';
select count(*) from orderline where ol_delivery_d is null;
select count(*) from orderline where ol_delivery_d is not null and not (ol_quantity = 5);
select count(*) from orders where o_carrier_id > 5 or o_carrier_id is null;
select count(*) from orders where not (o_carrier_id > 5);
select c_id, c_last from customer where c_d_id = 1 and c_last = 'BARBARBAR' order by c_id;
select c_credit, count(*), sum(c_balance) from customer group by c_credit having count(*) > 10
  order by c_credit;
select substr(c_state, 1, 1), count(*) from customer group by substr(c_state, 1, 1) order by 1;
select substr(c_phone, 3, 4), c_id from customer where c_d_id = 2 and c_id < 20 order by c_id;
select ascii(c_state), count(*) from customer group by ascii(c_state) order by 1;
select upper(n_name), lower(n_name), length(n_name) from nation order by n_name;
select n_name || ' (' || r_name || ')' from nation, region where n_regionkey = r_regionkey order
  by n_name;
select r_name, count(*) from region, nation where n_regionkey = r_regionkey group by r_name
  order by r_name;
select n_name, su_name from nation left join supplier on su_nationkey = n_nationkey and
  su_suppkey < 20 order by n_name, su_name;
select c_id, o_id from customer left join orders on c_w_id = o_w_id and c_d_id = o_d_id and c_id
  = o_c_id and o_id > 2990 where c_d_id = 1 and c_id < 200 order by c_id, o_id;
select count(*) from customer join orders on c_w_id = o_w_id and c_d_id = o_d_id and c_id =
  o_c_id join orderline on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id;
select count(*) from orders o1, orders o2 where o1.o_d_id = o2.o_d_id and o1.o_id = o2.o_id + 1
  and o1.o_c_id < o2.o_c_id;
select case when c_balance < 0 then 'debt' when c_balance = 0 then 'zero' else 'credit' end as
  state, count(*) from customer group by case when c_balance < 0 then 'debt' when c_balance = 0
  then 'zero' else 'credit' end order by state;
select coalesce(o_carrier_id, -1), count(*) from orders group by coalesce(o_carrier_id, -1)
  order by 1;
select nullif(o_carrier_id, 3), count(*) from orders group by nullif(o_carrier_id, 3) order by 1;
select extract(year from o_entry_d), extract(month from o_entry_d), count(*) from orders group
  by extract(year from o_entry_d), extract(month from o_entry_d) order by 1, 2;
select count(*) from orders where o_entry_d >= timestamp '2011-01-01 00:10:00' and o_entry_d <
  date '2011-01-02';
select count(*) from orders where o_entry_d < date '2010-12-01' + interval '2' month;
select mod(o_id, 7), count(*) from orders group by mod(o_id, 7) order by 1;
select o_id % 5, sum(o_ol_cnt) from orders group by o_id % 5 order by 1;
select abs(c_balance), c_id from customer where c_d_id = 3 and c_id < 10 order by c_id;
select round(c_balance, 1), c_id from customer where c_d_id = 3 and c_id < 50 order by c_id;
select cast(o_id as double) / 7, o_id from orders where o_d_id = 1 and o_id < 20 order by o_id;
select cast(ol_amount as double), ol_number from orderline where ol_d_id = 1 and ol_o_id = 2999
  order by ol_number;
select sum(ol_amount * ol_quantity), sum(ol_amount * (1 - 0.1)) from orderline;
select sum(ol_amount) / count(*), 100 * sum(ol_amount) / sum(ol_quantity) from orderline where
  ol_amount > 0;
select t.d, t.n from (select o_d_id as d, count(*) as n from orders group by o_d_id) t where t.n
  > 0 order by t.d;
select a.d, a.n, b.n from (select o_d_id as d, count(*) as n from orders group by o_d_id) a,
  (select no_d_id as d, count(*) as n from neworder group by no_d_id) b where a.d = b.d order by
  a.d;
select distinct o_ol_cnt from orders order by o_ol_cnt;
select o_d_id, o_id from orders order by o_id desc, o_d_id limit 7;
select o_d_id, o_id from orders order by o_id, o_d_id limit 5 offset 12;
select h_d_id, sum(h_amount), count(*) from history group by h_d_id order by h_d_id;
select s_quantity, count(*) from stock where s_order_cnt > 0 group by s_quantity order by
  s_quantity;
select su_suppkey from supplier where su_comment like '%Customer%Complaints%' order by
  su_suppkey;
select sum(o_ol_cnt) from orders where o_id < 0;
select count(*) from orders where 1 = 0;
select o_d_id, sum(o_ol_cnt) from orders where o_id < 0 group by o_d_id;
select su_nationkey, min(su_acctbal), max(su_acctbal), avg(su_acctbal) from supplier group by
  su_nationkey order by su_nationkey;
select count(*) from item where i_price * 2 > 150 and (i_im_id < 5000 or i_name like 'A%');
