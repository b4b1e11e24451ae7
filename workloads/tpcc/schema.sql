-- TPC-C (clause 1.3) and the three tables that the CH-benCHmark takes from TPC-H.
-- Where only points are needed the primary key is a hash index; orders are found by customer
-- (Order-Status) through an ordered index, neworder and orderline by ranges of their primary keys,
-- customers also by last name. history has no key of its own in the specification: h_id is
-- customer number * 2^28 + the customer's payment count (see tpcc/rows.h). Of a stock row New-Order
-- uses all but nine of the ten s_dist_xx, which therefore come last: fewer cache lines to fetch.
--
-- Column groups where transactions write one row for different reasons: of the district, Payment
-- its d_ytd and New-Order its d_next_o_id, each of them in every run; and of the warehouse, where
-- every Payment writes w_ytd and every New-Order reads w_tax. No other two transactions write
-- different columns only: Payment and Delivery meet at c_balance, Delivery and an erase of the
-- constant-size variant at the order's existence, and of stock, only New-Order writes.

CREATE TABLE region (
  r_regionkey INT NOT NULL,
  r_name VARCHAR(25) NOT NULL,
  r_comment VARCHAR(152) NOT NULL,
  PRIMARY KEY (r_regionkey)
);

CREATE TABLE nation (
  n_nationkey INT NOT NULL,
  n_name VARCHAR(25) NOT NULL,
  n_regionkey INT NOT NULL,
  n_comment VARCHAR(152) NOT NULL,
  PRIMARY KEY (n_nationkey),
  FOREIGN KEY (n_regionkey) REFERENCES region (r_regionkey)
);

CREATE TABLE supplier (
  su_suppkey INT NOT NULL,
  su_name VARCHAR(25) NOT NULL,
  su_address VARCHAR(40) NOT NULL,
  su_nationkey INT NOT NULL,
  su_phone VARCHAR(15) NOT NULL,
  su_acctbal DECIMAL(12,2) NOT NULL,
  su_comment VARCHAR(101) NOT NULL,
  PRIMARY KEY (su_suppkey),
  FOREIGN KEY (su_nationkey) REFERENCES nation (n_nationkey)
);

CREATE TABLE warehouse (
  w_id INT NOT NULL,
  w_name VARCHAR(10) NOT NULL,
  w_street_1 VARCHAR(20) NOT NULL,
  w_street_2 VARCHAR(20) NOT NULL,
  w_city VARCHAR(20) NOT NULL,
  w_state CHAR(2) NOT NULL,
  w_zip CHAR(9) NOT NULL,
  w_tax DECIMAL(4,4) NOT NULL,
  w_ytd DECIMAL(15,2) NOT NULL,
  PRIMARY KEY (w_id)
) WITH (column_groups = '(w_ytd)');

CREATE TABLE district (
  d_id INT NOT NULL,
  d_w_id INT NOT NULL,
  d_name VARCHAR(10) NOT NULL,
  d_street_1 VARCHAR(20) NOT NULL,
  d_street_2 VARCHAR(20) NOT NULL,
  d_city VARCHAR(20) NOT NULL,
  d_state CHAR(2) NOT NULL,
  d_zip CHAR(9) NOT NULL,
  d_tax DECIMAL(4,4) NOT NULL,
  d_ytd DECIMAL(15,2) NOT NULL,
  d_next_o_id INT NOT NULL,
  PRIMARY KEY (d_w_id, d_id),
  FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)
) WITH (column_groups = '(d_ytd) (d_next_o_id)');

CREATE TABLE customer (
  c_id INT NOT NULL,
  c_d_id INT NOT NULL,
  c_w_id INT NOT NULL,
  c_first VARCHAR(16) NOT NULL,
  c_middle CHAR(2) NOT NULL,
  c_last VARCHAR(16) NOT NULL,
  c_street_1 VARCHAR(20) NOT NULL,
  c_street_2 VARCHAR(20) NOT NULL,
  c_city VARCHAR(20) NOT NULL,
  c_state CHAR(2) NOT NULL,
  c_zip CHAR(9) NOT NULL,
  c_phone CHAR(16) NOT NULL,
  c_since TIMESTAMP NOT NULL,
  c_credit CHAR(2) NOT NULL,
  c_credit_lim DECIMAL(12,2) NOT NULL,
  c_discount DECIMAL(4,4) NOT NULL,
  c_balance DECIMAL(12,2) NOT NULL,
  c_ytd_payment DECIMAL(12,2) NOT NULL,
  c_payment_cnt INT NOT NULL,
  c_delivery_cnt INT NOT NULL,
  c_data VARCHAR(500) NOT NULL,
  PRIMARY KEY (c_w_id, c_d_id, c_id),
  FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)
);
CREATE INDEX customer_by_name ON customer USING btree (c_w_id, c_d_id, c_last, c_first);

CREATE TABLE history (
  h_id BIGINT NOT NULL,
  h_c_id INT NOT NULL,
  h_c_d_id INT NOT NULL,
  h_c_w_id INT NOT NULL,
  h_d_id INT NOT NULL,
  h_w_id INT NOT NULL,
  h_date TIMESTAMP NOT NULL,
  h_amount DECIMAL(12,2) NOT NULL,
  h_data VARCHAR(24) NOT NULL,
  PRIMARY KEY (h_id),
  FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id),
  FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id)
);

CREATE TABLE item (
  i_id INT NOT NULL,
  i_im_id INT NOT NULL,
  i_name VARCHAR(24) NOT NULL,
  i_price DECIMAL(12,2) NOT NULL,
  i_data VARCHAR(50) NOT NULL,
  PRIMARY KEY (i_id)
);

CREATE TABLE stock (
  s_i_id INT NOT NULL,
  s_w_id INT NOT NULL,
  s_quantity INT NOT NULL,
  s_ytd INT NOT NULL,
  s_order_cnt INT NOT NULL,
  s_remote_cnt INT NOT NULL,
  s_data VARCHAR(50) NOT NULL,
  s_dist_01 CHAR(24) NOT NULL,
  s_dist_02 CHAR(24) NOT NULL,
  s_dist_03 CHAR(24) NOT NULL,
  s_dist_04 CHAR(24) NOT NULL,
  s_dist_05 CHAR(24) NOT NULL,
  s_dist_06 CHAR(24) NOT NULL,
  s_dist_07 CHAR(24) NOT NULL,
  s_dist_08 CHAR(24) NOT NULL,
  s_dist_09 CHAR(24) NOT NULL,
  s_dist_10 CHAR(24) NOT NULL,
  PRIMARY KEY (s_w_id, s_i_id),
  FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id),
  FOREIGN KEY (s_i_id) REFERENCES item (i_id)
);

CREATE TABLE orders (
  o_id INT NOT NULL,
  o_d_id INT NOT NULL,
  o_w_id INT NOT NULL,
  o_c_id INT NOT NULL,
  o_entry_d TIMESTAMP NOT NULL,
  o_carrier_id INT,
  o_ol_cnt INT NOT NULL,
  o_all_local INT NOT NULL,
  PRIMARY KEY (o_w_id, o_d_id, o_id),
  FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)
);
CREATE UNIQUE INDEX orders_by_customer ON orders USING btree (o_w_id, o_d_id, o_c_id, o_id);

CREATE TABLE neworder (
  no_o_id INT NOT NULL,
  no_d_id INT NOT NULL,
  no_w_id INT NOT NULL,
  PRIMARY KEY (no_w_id, no_d_id, no_o_id),
  FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)
) WITH (primary_index = ordered);

CREATE TABLE orderline (
  ol_o_id INT NOT NULL,
  ol_d_id INT NOT NULL,
  ol_w_id INT NOT NULL,
  ol_number INT NOT NULL,
  ol_i_id INT NOT NULL,
  ol_supply_w_id INT NOT NULL,
  ol_delivery_d TIMESTAMP,
  ol_quantity INT NOT NULL,
  ol_amount DECIMAL(12,2) NOT NULL,
  ol_dist_info CHAR(24) NOT NULL,
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number),
  FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id),
  FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id),
  FOREIGN KEY (ol_i_id) REFERENCES item (i_id)
) WITH (primary_index = ordered);
