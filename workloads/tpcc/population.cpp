#include "workloads/tpcc/population.h"

#include <cstring>
#include <numeric>

#include <fmt/format.h>

namespace diptych::workloads::tpcc {

enum Population::Stream : uint32_t {
  kRegionStream,
  kNationStream,
  kSupplierStream,
  kItemStream,
  kWarehouseStream,
  kDistrictStream,
  kStockStream,
  kCustomerStream,
  kHistoryStream,
  kOrderCustomersStream,
  kOrderStream,
  kOrderLineCountStream,
  kOrderLineStream,
};

namespace {

struct NationName {
  std::string_view name;
  int32_t region;
};
// Africa, America, Asia, Europe, Middle East: TPC-H's regions in the CH-benCHmark's spelling.
constexpr std::string_view kRegionNames[kRegions] = {"Africa", "America", "Asia", "Europe",
                                                     "Middle East"};
constexpr NationName kNationNames[kNations] = {
    {"Algeria", 0},        {"Argentina", 1},     {"Australia", 2},    {"Austria", 3},
    {"Bahrain", 4},        {"Belgium", 3},       {"Bolivia", 1},      {"Botswana", 0},
    {"Brazil", 1},         {"Bulgaria", 3},      {"Cambodia", 2},     {"Cameroon", 0},
    {"Canada", 1},         {"Chile", 1},         {"China", 2},        {"Colombia", 1},
    {"Croatia", 3},        {"Cuba", 1},          {"Denmark", 3},      {"Ecuador", 1},
    {"Egypt", 4},          {"Estonia", 3},       {"Ethiopia", 0},     {"Finland", 3},
    {"France", 3},         {"Germany", 3},       {"Ghana", 0},        {"Greece", 3},
    {"Hungary", 3},        {"Iceland", 3},       {"India", 2},        {"Indonesia", 2},
    {"Iran", 4},           {"Iraq", 4},          {"Ireland", 3},      {"Israel", 4},
    {"Italy", 3},          {"Jamaica", 1},       {"Japan", 2},        {"Jordan", 4},
    {"Kenya", 0},          {"Kuwait", 4},        {"Laos", 2},         {"Lebanon", 4},
    {"Malaysia", 2},       {"Mexico", 1},        {"Morocco", 0},      {"Mozambique", 0},
    {"Nepal", 2},          {"Norway", 3},        {"Oman", 4},         {"Peru", 1},
    {"Qatar", 4},          {"Romania", 3},       {"Saudi Arabia", 4}, {"Senegal", 0},
    {"United Kingdom", 3}, {"United States", 1}, {"Uruguay", 1},      {"Vietnam", 2},
    {"Zambia", 0},         {"Zimbabwe", 0}};

uint64_t district_key(int32_t w_id, int32_t d_id) {
  return static_cast<uint64_t>(w_id) * kDistricts + d_id;
}
uint64_t order_key(int32_t w_id, int32_t d_id, int32_t o_id) {
  return district_key(w_id, d_id) * 1'000'000 + o_id;
}

template <class Long>
Long long_text(Random* random, int32_t low, int32_t high, TextPool* pool) {
  const int32_t size = random->between(low, high);
  char* const bytes = pool->allocate(size);
  random->alphanumeric(bytes, size);
  return Long(std::string_view(bytes, size));
}

void zip_code(Random* random, base::Char<9>* zip) {
  numeric(random, 4, zip);
  std::memcpy(zip->bytes + 4, "11111", 5);
  zip->size = 9;
}

// 26 to 50 characters; in one of ten rows ORIGINAL stands at a random place among them.
void item_text(Random* random, base::Varchar<50>* text) {
  static constexpr std::string_view kOriginal = "ORIGINAL";
  alphanumeric(random, 26, 50, text);
  if (!random->percent(10)) return;
  const int32_t place = random->between(0, text->size - static_cast<int32_t>(kOriginal.size()));
  std::memcpy(text->bytes + place, kOriginal.data(), kOriginal.size());
}

Money money(Random* random, int32_t low_cents, int32_t high_cents) {
  return {random->between(low_cents, high_cents)};
}

}  // namespace

std::string_view region_name(int32_t key) {
  return kRegionNames[key];
}
std::string_view nation_name(int32_t position) {
  return kNationNames[position].name;
}

Region Population::region(int32_t key, TextPool* pool) const {
  Random random = this->random(kRegionStream, key);
  Region row{};
  row.r_regionkey = key;
  row.r_name = kRegionNames[key];
  row.r_comment = long_text<base::Varchar<152>>(&random, 31, 115, pool);
  return row;
}

Nation Population::nation(int32_t position, TextPool* pool) const {
  Random random = this->random(kNationStream, position);
  Nation row{};
  row.n_nationkey = nation_key(position);
  row.n_name = kNationNames[position].name;
  row.n_regionkey = kNationNames[position].region;
  row.n_comment = long_text<base::Varchar<152>>(&random, 31, 114, pool);
  return row;
}

Supplier Population::supplier(int32_t key, TextPool* pool) const {
  static constexpr int32_t kSuppliersPerComment = 2000;
  Random random = this->random(kSupplierStream, key);
  Supplier row{};
  row.su_suppkey = key;
  row.su_name = std::string_view(fmt::format("Supplier#{:09}", key));
  alphanumeric(&random, 10, 40, &row.su_address);
  row.su_nationkey = nation_key(random.between(0, kNations - 1));
  numeric(&random, 15, &row.su_phone);
  row.su_acctbal = money(&random, -99'999, 999'999);
  const int32_t size = random.between(50, 100);
  char* const comment = pool->allocate(size);
  random.alphanumeric(comment, size);
  const std::string_view word = key % kSuppliersPerComment == 17     ? "Complaints"
                                : key % kSuppliersPerComment == 1017 ? "Recommends"
                                                                     : "";
  if (!word.empty()) {
    std::memcpy(comment + random.between(0, 10), "Customer", 8);
    std::memcpy(comment + random.between(20, 40), word.data(), word.size());
  }
  row.su_comment = std::string_view(comment, size);
  return row;
}

Item Population::item(int32_t i_id) const {
  Random random = this->random(kItemStream, i_id);
  Item row{};
  row.i_id = i_id;
  row.i_im_id = random.between(1, 10'000);
  alphanumeric(&random, 14, 24, &row.i_name);
  row.i_price = money(&random, 100, 10'000);
  item_text(&random, &row.i_data);
  return row;
}

Warehouse Population::warehouse(int32_t w_id) const {
  Random random = this->random(kWarehouseStream, w_id);
  Warehouse row{};
  row.w_id = w_id;
  alphanumeric(&random, 6, 10, &row.w_name);
  alphanumeric(&random, 10, 20, &row.w_street_1);
  alphanumeric(&random, 10, 20, &row.w_street_2);
  alphanumeric(&random, 10, 20, &row.w_city);
  alphanumeric(&random, 2, 2, &row.w_state);
  zip_code(&random, &row.w_zip);
  row.w_tax = {random.between(0, 2000)};
  row.w_ytd = {30'000'000};
  return row;
}

District Population::district(int32_t w_id, int32_t d_id) const {
  Random random = this->random(kDistrictStream, district_key(w_id, d_id));
  District row{};
  row.d_id = d_id;
  row.d_w_id = w_id;
  alphanumeric(&random, 6, 10, &row.d_name);
  alphanumeric(&random, 10, 20, &row.d_street_1);
  alphanumeric(&random, 10, 20, &row.d_street_2);
  alphanumeric(&random, 10, 20, &row.d_city);
  alphanumeric(&random, 2, 2, &row.d_state);
  zip_code(&random, &row.d_zip);
  row.d_tax = {random.between(0, 2000)};
  row.d_ytd = {3'000'000};
  row.d_next_o_id = kInitialOrders + 1;
  return row;
}

Stock Population::stock(int32_t w_id, int32_t i_id) const {
  Random random = this->random(kStockStream, static_cast<uint64_t>(w_id) * kItems + i_id);
  Stock row{};
  row.s_i_id = i_id;
  row.s_w_id = w_id;
  row.s_quantity = random.between(10, 100);
  for (base::Char<24>* dist :
       {&row.s_dist_01, &row.s_dist_02, &row.s_dist_03, &row.s_dist_04, &row.s_dist_05,
        &row.s_dist_06, &row.s_dist_07, &row.s_dist_08, &row.s_dist_09, &row.s_dist_10}) {
    alphanumeric(&random, 24, 24, dist);
  }
  item_text(&random, &row.s_data);
  return row;
}

Customer Population::customer(int32_t w_id, int32_t d_id, int32_t c_id, TextPool* pool) const {
  Random random = this->random(kCustomerStream, order_key(w_id, d_id, c_id));
  Customer row{};
  row.c_id = c_id;
  row.c_d_id = d_id;
  row.c_w_id = w_id;
  alphanumeric(&random, 8, 16, &row.c_first);
  row.c_middle = std::string_view("OE");
  row.c_last = last_name(c_id <= kLastNames
                             ? c_id - 1
                             : random.non_uniform(255, kLastNameConstantLoad, 0, kLastNames - 1));
  alphanumeric(&random, 10, 20, &row.c_street_1);
  alphanumeric(&random, 10, 20, &row.c_street_2);
  alphanumeric(&random, 10, 20, &row.c_city);
  alphanumeric(&random, 2, 2, &row.c_state);
  zip_code(&random, &row.c_zip);
  numeric(&random, 16, &row.c_phone);
  row.c_since = kLoadTime;
  row.c_credit = std::string_view(random.percent(10) ? "BC" : "GC");
  row.c_credit_lim = {5'000'000};
  row.c_discount = {random.between(0, 5000)};
  row.c_balance = {-1000};
  row.c_ytd_payment = {1000};
  row.c_payment_cnt = 1;
  row.c_delivery_cnt = 0;
  row.c_data = long_text<base::Varchar<500>>(&random, 300, 500, pool);
  return row;
}

History Population::history(int32_t w_id, int32_t d_id, int32_t c_id) const {
  Random random = this->random(kHistoryStream, order_key(w_id, d_id, c_id));
  History row{};
  row.h_id = history_id(w_id, d_id, c_id, 1);
  row.h_c_id = c_id;
  row.h_c_d_id = d_id;
  row.h_c_w_id = w_id;
  row.h_d_id = d_id;
  row.h_w_id = w_id;
  row.h_date = kLoadTime;
  row.h_amount = {1000};
  alphanumeric(&random, 12, 24, &row.h_data);
  return row;
}

std::vector<int32_t> Population::order_customers(int32_t w_id, int32_t d_id) const {
  Random random = this->random(kOrderCustomersStream, district_key(w_id, d_id));
  std::vector<int32_t> customers(kInitialOrders);
  std::iota(customers.begin(), customers.end(), 1);
  for (int32_t i = kInitialOrders - 1; i > 0; --i) {
    std::swap(customers[i], customers[random.between(0, i)]);
  }
  return customers;
}

Order Population::order(int32_t w_id, int32_t d_id, int32_t o_id, int32_t c_id) const {
  Random random = this->random(kOrderStream, order_key(w_id, d_id, o_id));
  Order row{};
  row.o_id = o_id;
  row.o_d_id = d_id;
  row.o_w_id = w_id;
  row.o_c_id = c_id;
  row.o_entry_d = {kLoadTime.micros + int64_t{1'000'000} * o_id};
  row.o_carrier_id = {};
  if (o_id < kFirstUndelivered) row.o_carrier_id = random.between(1, 10);
  row.o_ol_cnt = order_line_count(w_id, d_id, o_id);
  row.o_all_local = 1;
  return row;
}

int32_t Population::order_line_count(int32_t w_id, int32_t d_id, int32_t o_id) const {
  Random random = this->random(kOrderLineCountStream, order_key(w_id, d_id, o_id));
  return random.between(kOrderLinesMin, kOrderLinesMax);
}

OrderLine Population::order_line(int32_t w_id, int32_t d_id, int32_t o_id, int32_t number) const {
  Random random = this->random(kOrderLineStream, order_key(w_id, d_id, o_id) * 16 + number);
  const bool delivered = o_id < kFirstUndelivered;
  OrderLine row{};
  row.ol_o_id = o_id;
  row.ol_d_id = d_id;
  row.ol_w_id = w_id;
  row.ol_number = number;
  row.ol_i_id = random.between(1, kItems);
  row.ol_supply_w_id = w_id;
  row.ol_delivery_d = {};
  if (delivered) row.ol_delivery_d = base::Timestamp{kLoadTime.micros + int64_t{1'000'000} * o_id};
  row.ol_quantity = 5;
  row.ol_amount = delivered ? Money{0} : money(&random, 1, 999'999);
  alphanumeric(&random, 24, 24, &row.ol_dist_info);
  return row;
}

}  // namespace diptych::workloads::tpcc
