-- Account 0 is the bank's own: it pays the interest, so that money only ever moves.
CREATE TABLE account (
  id BIGINT NOT NULL,
  branch INT NOT NULL,
  owner VARCHAR(40) NOT NULL,
  balance DECIMAL(15,2) NOT NULL,
  entries INT NOT NULL,          -- so many rows of entry are the account's, numbered from 1
  opened TIMESTAMP NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX account_branch ON account (branch, id);

CREATE TABLE entry (
  account BIGINT NOT NULL,
  number INT NOT NULL,
  booked TIMESTAMP NOT NULL,
  amount DECIMAL(15,2) NOT NULL,
  text VARCHAR(40) NOT NULL,
  PRIMARY KEY (account, number),
  FOREIGN KEY (account) REFERENCES account (id)
) WITH (primary_index = ordered);

CREATE TABLE interest_run (
  branch INT NOT NULL,
  period INT NOT NULL,
  paid DECIMAL(15,2) NOT NULL,
  PRIMARY KEY (branch, period)
);
