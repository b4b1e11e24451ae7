CREATE TABLE part (p_id INT PRIMARY KEY, kind TEXT, size INT, weight DOUBLE PRECISION);
CREATE TABLE sale (s_id INT PRIMARY KEY, p_id INT, region VARCHAR(10), amount DECIMAL(10,2),
                   quantity BIGINT, day DATE, at TIMESTAMP, paid BOOLEAN);
CREATE TABLE empty (e_id INT PRIMARY KEY, x INT, note TEXT);
CREATE TABLE num (n INT PRIMARY KEY, x INT, y INT);
CREATE TABLE grade (g_id INT PRIMARY KEY, letter CHAR(1), band VARCHAR(3) NOT NULL, note VARCHAR(7), remark VARCHAR(30));
CREATE TABLE padded (d_id INT PRIMARY KEY, short CHAR(3), long CHAR(5), word VARCHAR(5), note TEXT);
