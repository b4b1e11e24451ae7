CREATE TABLE part (p_id INT PRIMARY KEY, kind TEXT, size INT, weight DOUBLE PRECISION);
CREATE TABLE sale (s_id INT PRIMARY KEY, p_id INT, region VARCHAR(10), amount DECIMAL(10,2),
                   quantity BIGINT, day DATE, at TIMESTAMP, paid BOOLEAN);
CREATE TABLE empty (e_id INT PRIMARY KEY, x INT, note TEXT);
CREATE TABLE num (n INT PRIMARY KEY, x INT, y INT);
CREATE TABLE grade (g_id INT PRIMARY KEY, letter CHAR(1), band VARCHAR(3) NOT NULL, note VARCHAR(7), remark VARCHAR(30));
CREATE TABLE padded (d_id INT PRIMARY KEY, short CHAR(3), long CHAR(5), word VARCHAR(5), note TEXT);
CREATE VIEW region_sums (area, total, sales) AS SELECT region, sum(amount), count(*) FROM sale GROUP BY region;
CREATE VIEW best_region AS SELECT area, total FROM region_sums WHERE total = (SELECT max(total) FROM region_sums);
CREATE VIEW all_parts AS SELECT * FROM part;
CREATE VIEW newest AS SELECT s_id, region, day FROM sale WHERE day IS NOT NULL ORDER BY day DESC, s_id LIMIT 4;
CREATE VIEW counted (n) AS WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c;
CREATE VIEW letters AS SELECT letter, band FROM grade UNION SELECT 'x', 'new';
CREATE VIEW this_moment AS SELECT localtimestamp AS m;
CREATE VIEW three AS VALUES (1, 'one'), (2, 'two'), (3, NULL);
CREATE VIEW unnamed AS SELECT 'text', NULL AS nothing, coalesce(x, 0), x + 1 AS more FROM num;
