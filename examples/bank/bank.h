// The bank's rows, and the arguments and replies of its procedures: what bank.cpp and its callers
// share. Callers in C++ bind_procedure<Transfer, TransferReply>("transfer"); others call by name.

#pragma once

#include <cstdint>

#include <boost/describe.hpp>

#include "base/types.h"

namespace diptych::examples::bank {

using Money = base::Decimal<15, 2>;

inline constexpr int64_t kOwnAccount = 0;  // the bank's

struct Account {
  int64_t id;
  int32_t branch;
  base::Varchar<40> owner;
  Money balance;
  int32_t entries;
  base::Timestamp opened;
};
BOOST_DESCRIBE_STRUCT(Account, (), (id, branch, owner, balance, entries, opened))

struct Entry {
  int64_t account;
  int32_t number;
  base::Timestamp booked;
  Money amount;
  base::Varchar<40> text;
};
BOOST_DESCRIBE_STRUCT(Entry, (), (account, number, booked, amount, text))

struct InterestRun {
  int32_t branch;
  int32_t period;
  Money paid;
};
BOOST_DESCRIBE_STRUCT(InterestRun, (), (branch, period, paid))

// open_account: with a first deposit. Already exists: the number is taken.
struct OpenAccount {
  int64_t id;
  int32_t branch;
  base::Varchar<40> owner;
  Money deposit;
};
BOOST_DESCRIBE_STRUCT(OpenAccount, (), (id, branch, owner, deposit))

// transfer: aborts where the account holds too little, or the amount is not positive.
struct Transfer {
  int64_t from;
  int64_t to;
  Money amount;
};
BOOST_DESCRIBE_STRUCT(Transfer, (), (from, to, amount))

struct TransferReply {
  Money left;
};
BOOST_DESCRIBE_STRUCT(TransferReply, (), (left))

// interest: to all accounts of a branch, from the bank's own; once a branch and period.
struct Interest {
  int32_t branch;
  int32_t period;
  base::Decimal<5, 2> percent;
};
BOOST_DESCRIBE_STRUCT(Interest, (), (branch, period, percent))

struct InterestReply {
  int64_t accounts;
  Money paid;
};
BOOST_DESCRIBE_STRUCT(InterestReply, (), (accounts, paid))

// statement: the balance, and the sum of what was booked, which is the same.
struct Statement {
  int64_t account;
};
BOOST_DESCRIBE_STRUCT(Statement, (), (account))

struct StatementReply {
  base::Varchar<40> owner;
  Money balance;
  Money booked;
  int32_t entries;
  Money last_amount;
  base::Varchar<40> last_text;
};
BOOST_DESCRIBE_STRUCT(StatementReply, (), (owner, balance, booked, entries, last_amount, last_text))

}  // namespace diptych::examples::bank
