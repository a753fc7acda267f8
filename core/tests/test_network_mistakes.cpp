// Every mistake in a network file is named with its line; sizes are checked before anything large is made.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "networks/generator.hpp"
#include "networks/network.hpp"
#include "program/parameters.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::program;

namespace {

std::string said(const std::string& text, std::int64_t vertices_max = 100'000) {
  try {
    parse_network(text, "f.toml", vertices_max);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing";
}

std::size_t lines_of(const std::string& text) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void check_says(const std::string& text, const std::string& part) {
  const auto found = said(text);
  if (found.find(part) == std::string::npos)
    tests::fail(__FILE__, __LINE__, "\"" + found + "\" lacks \"" + part + '"');
}

// A valid file; appended text starts at line 8.
const std::string pair = R"([[hosts]]
names = "n[0-1]"
[[switches]]
names = "s"
[[links]]
between = ["n[0-1]", "s"]
rate = "1 Gbit/s"
)";

}  // namespace

TEST(a_right_file_is_read) { CHECK_EQ(said(pair), "nothing"); }

TEST(what_is_no_toml_has_its_line) {
  check_says("name = \"x\"\n[hosts\n", "f.toml:2: ");
  for (const auto* open : {"name = \"x\n[hosts]\n", "name = \"x", "name = \"x\n"})
    check_says("seed = 1\n" + std::string(open), "f.toml:2: the text that begins on this line is not closed");
  check_says("seed = 1\nname = \"x\x01y\"\n", "f.toml:2: Error while parsing string");
  check_says("name = \"x\"\n\n[# no name\n\n\n", "f.toml:3: ");  // toml++ 3.3 asserts the contrary
  check_says("a = 1\nkin\xca\x8a = 2\n", "f.toml:2: ");
  check_says(std::string("a = 1\n") + std::string(1, '\xff') + " = 2\n", "f.toml:2: ");
  check_says(std::string(3000, 'a') + std::string(3000, '.') + "a = 1\n", "f.toml:1: ");
  check_says("x = " + std::string(5000, '[') + std::string(5000, ']'), "f.toml:1: ");
}

TEST(dots_count_in_keys_and_not_in_texts) {
  const std::string dots(600, '.');
  for (const std::string mark : {"\"\"\"", "'''"})
    check_says("name = " + mark + "one\n" + dots + "\n" + mark + "\n" + pair, "nothing");
  check_says("name = \"\"\"\n\\\"\"" + dots + "\n" + dots + "\"\"\"\"\"\n" + pair, "nothing");
  for (const std::string before : {"# \"\"\"\n", "name = \"\"\n", "name = \"\\\"\"\n", "name = '\"\"\"'\n",
                                   "name = \"\"\"\"x\"\"\"\"\"\n", "name = '''\n'\n'''\n"})
    check_says(before + "a" + dots + "a = 1\n",
               "f.toml:" + std::to_string(lines_of(before)) + ": a key has more than 512 parts");
}

TEST(unknown_keys_have_their_line_and_the_nearest_known) {
  check_says(pair + "ltency = \"1 us\"\n",
             "f.toml:8: unknown key \"ltency\" in [[links]]; did you mean latency");
  check_says("nmae = \"x\"\n" + pair, "f.toml:1: unknown key \"nmae\" at the top; did you mean name");
  check_says(pair + "[host]\nprocesors = 2\n",
             "f.toml:9: unknown key \"procesors\" in [host]; did you mean processors");
  check_says("[generator]\nkind = \"crossbar\"\nhots = 3\n",
             "f.toml:3: generator crossbar has no parameter \"hots\"; did you mean hosts");
  check_says("[generator]\nkind = \"crosbar\"\n",
             "f.toml:2: [generator] kind: unknown generator \"crosbar\"; did you mean crossbar");
  check_says("[generator]\nkind = \"crossbar\"\nrate = \"1 Gbit/s\"\n[switch.leaf]\nlatency = \"1 us\"\n",
             "f.toml:4: there is no switch class \"leaf\"");
}

TEST(quantities_without_or_with_wrong_units_say_what_would_be_right) {
  const auto link = [](const std::string& key) {
    return "[[hosts]]\nnames = \"n[0-1]\"\n[[links]]\nbetween = [\"n0\", \"n1\"]\n" + key + "\n";
  };
  for (const auto* value :
       {"100", "\"100\"", "\"100 Mbit\"", "\"100 Mb/s\"", "\"nan Mbit/s\"", "\"inf Gbit/s\"", "\"-1 Gbit/s\"",
        "\"1e3 Gbit/s\"", "\"0 Gbit/s\"", "\"9999999999 Gbit/s\"", "\"\"", "nan", "inf", "true", "[1]"})
    check_says(link("rate = " + std::string(value)), "f.toml:5: [[links]] rate: ");
  check_says(link("rate = 100"), "write rate = \"100 Mbit/s\"");
  for (const auto* value : {"3", "\"3\"", "\"3 parsec\"", "\"-3 us\"", "\"nan s\"", "\"2 h\""})
    check_says(link("rate = \"1 Gbit/s\"\nlatency = " + std::string(value)), "f.toml:6: [[links]] latency: ");
  for (const auto* value : {"818", "\"818\"", "\"USD 818\"", "\"818 dollars\"", "\"nan USD\"", "\"-1 USD\""})
    check_says(link("rate = \"1 Gbit/s\"\nprice = " + std::string(value)), "f.toml:6: [[links]] price: ");
  check_says(link("latency = \"1 us\""), "f.toml:3: [[links]] rate: is missing");
  for (const auto* value : {"0", "1.5", "nan", "-0.5", "\"half\""})
    check_says(pair + "[protocol]\nefficiency = " + std::string(value), "f.toml:9: [protocol] efficiency: ");
  check_says(pair + "[protocol]\nmtu = 40\nheaders = 40\n", "f.toml:10: [protocol] headers: ");
  check_says(pair + "price = \"1 USD\"\n[host]\nprice = \"1 EUR\"\n", "one currency");
}

TEST(names_must_exist_once_and_ends_must_match) {
  check_says(pair + "[[hosts]]\nnames = \"n[1-2]\"\n",
             "f.toml:9: [[hosts]] names: \"n1\" is already defined on line 1");
  check_says(pair + "[[links]]\nbetween = [\"n0\", \"z\"]\nrate = \"1 Gbit/s\"\n",
             "f.toml:9: [[links]] between: there is no host or switch \"z\"");
  check_says(pair + "[[links]]\nbetween = [\"n[0-1]\", \"n[0-1]\"]\nrate = \"1 Gbit/s\"\n",
             "\"n0\" is wired to itself");
  check_says(
      "[[hosts]]\nnames = \"n[0-4]\"\n[[links]]\nbetween = [\"n[0-1]\", \"n[2-4]\"]\nrate = \"1 Gbit/s\"\n",
      "f.toml:4: [[links]] between: 2 names at one end and 3 at the other");
  for (const auto* value : {"n[3-1]", "n[1", "n[a]", "n 1", "n[1-99999999999999]", ""})
    check_says("[[hosts]]\nnames = \"" + std::string(value) + "\"\n", "f.toml:2: [[hosts]] names: ");
}

TEST(a_generated_network_has_no_rate_that_nobody_wrote) {
  for (const GeneratorInfo* generator : all_generators()) {
    const auto text = "name = \"x\"\n[generator]\nkind = \"" + std::string(generator->name) + "\"\n";
    check_says(text, "f.toml:2: [generator] rate: is missing; write rate = ");
    check_says(text + "rate = \"1 Gbit\"\n", "f.toml:4: [generator] rate: ");
  }
}

TEST(what_follows_from_a_mistake_is_not_reported_as_another) {
  const auto only = [](const std::string& text, const std::string& wanted) {
    check_says(text, wanted);
    CHECK_EQ(lines_of(said(text)), 1);
  };
  const std::string link = "[[links]]\nbetween = [\"n[0-3]\", \"s\"]\nrate = \"1 Gbit/s\"\n";
  const std::string hosts = "[[hosts]]\nnames = \"n[0-3]\"\n", switches = "[[switches]]\nnames = \"s\"\n";
  only("[[hosts]]\nnames = \"n[0-3\"\n" + switches + link, "f.toml:2: [[hosts]] names: ");
  only(hosts + "[[switches]]\nnames = \"\"\n" + link, "f.toml:4: [[switches]] names: ");
  only("[[host]]\nnames = \"n[0-3]\"\n" + switches + link, "f.toml:1: hosts are listed as [[hosts]]");
  only("hosts = 4\n" + switches + link, "f.toml:1: hosts must be a table");
  only(hosts + switches + "[link]\nrate = 100\n[[links]]\nbetween = [\"n[0-3]\", \"s\"]\n",
       "f.toml:6: [link] rate: ");
  only(hosts + switches + link + "cables = \"2\"\nspread = \"flow\"\n", "f.toml:8: [[links]] cables: ");
  only(hosts + switches + link +
           "[routing]\nkind = \"sttic\"\n[[route]]\nat = \"s\"\nto = \"n0\"\nvia = \"n0\"\n",
       "f.toml:9: [routing] kind: \"sttic\" is not one of the choices; did you mean static");
  only("[[hosts]]\nnames = \"n[0-2]\"\n" + switches + link,
       "f.toml:6: [[links]] between: there is no host or switch \"n3\"");
}

TEST(hosts_that_cannot_talk_are_mistakes) {
  check_says(pair + "[[hosts]]\nnames = \"lonely\"\n", "f.toml:8: host lonely has no link");
  check_says(pair +
                 "[[hosts]]\nnames = \"far\"\n[[switches]]\nnames = \"t\"\n[[links]]\nbetween = [\"far\", "
                 "\"t\"]\nrate = \"1 Gbit/s\"\n",
             "f.toml:8: no path leads from n0 to far");
  check_says("name = \"x\"\n", "f.toml:1: there is no host");
  check_says(pair + "[switch]\nports = 1\n", "f.toml:3: s has 1 ports, but 2 links");
}

TEST(static_tables_are_checked) {
  const std::string start = pair + "[routing]\nkind = \"static\"\n";
  check_says(start, "f.toml:8: [routing] kind = \"static\" needs [[route]] entries");
  check_says(pair + "[[route]]\nat = \"s\"\nto = \"n0\"\nvia = \"n0\"\n",
             "f.toml:8: [[route]] means nothing unless");
  check_says(start + "[[route]]\nat = \"n0\"\nto = \"n1\"\nvia = \"n1\"\n",
             "f.toml:13: [[route]] via: n0 is not wired to n1");
  check_says(start + "[[route]]\nat = \"s\"\nto = \"n1\"\nvia = \"n0\"\n",
             "f.toml:13: [[route]] via: n0 is a host that does not forward");
  check_says(start + "[[route]]\nat = \"n0\"\nto = \"s\"\nvia = \"s\"\n",
             "f.toml:12: [[route]] to: s is a switch");
  check_says(start + "[[route]]\nat = \"n0\"\nto = \"n1\"\n", "f.toml:10: [[route]] via: is missing");
  const std::string once = "[[route]]\nat = \"n0\"\nto = \"n1\"\nvia = \"s\"\n";
  check_says(start + once + once, "f.toml:16: [[route]] to: line 10 already routes");
}

TEST(every_mistake_is_reported_in_the_order_of_the_file) {
  const auto found = said("nam = 1\n[host]\nranks = 0\n" + pair + "latency = 3\n");
  CHECK_EQ(lines_of(found), 3);
  CHECK(found.find("f.toml:1:") < found.find("f.toml:3:") &&
        found.find("f.toml:3:") < found.find("f.toml:11:"));
  std::string many;
  for (int i = 0; i < 500; ++i) many += "key" + std::to_string(i) + " = 1\n";
  CHECK(said(many).ends_with("more mistakes"));
}

TEST(the_same_mistake_in_many_places_is_reported_three_times) {
  std::string links = "[[hosts]]\nnames = \"n[0-8]\"\n[[switches]]\nnames = \"s\"\n";
  for (int i = 0; i < 9; ++i)
    links += "[[links]]\nbetween = [\"n" + std::to_string(i) + "\", \"s\"]\nrate = \"1 Gbps\"\n";
  const auto found = said(links);
  CHECK_EQ(lines_of(found), 3);
  CHECK(found.ends_with(
      "f.toml:13: [[links]] rate: \"1 Gbps\" is not a rate; write \"1 Gbit/s\" (and in 6 more places)"));
}

TEST(a_misspelt_rate_is_not_reported_as_missing_too) {
  const std::string link = "[[hosts]]\nnames = \"n[0-1]\"\n[[links]]\nbetween = [\"n0\", \"n1\"]\n";
  CHECK_EQ(said(link + "rat = \"1 Gbit/s\"\n"),
           "f.toml:5: unknown key \"rat\" in [[links]]; did you mean rate, back_rate?");
  check_says(link + "cost = 3\n", "rate: is missing");
}

TEST(nothing_large_is_made_before_it_is_checked) {
  check_says("[generator]\nkind = \"crossbar\"\nrate = \"1 Gbit/s\"\nhosts = 1_000_000_000_000\n",
             "f.toml:1: [generator] crossbar: 1000000000000 hosts");
  check_says("[[hosts]]\nnames = \"n[0-99999999999]\"\n", "more names than are possible");
  check_says("[[hosts]]\nnames = \"n[0-99999][0-99999][0-99999]\"\n", "more names than are possible");
  const auto cables =
      pair + "cables = 100_000\nspread = \"flow\"\n[[hosts]]\nnames = \"m[0-99]\"\n" +
      "[[links]]\nbetween = [\"m[0-99]\", \"s\"]\nrate = \"1 Gbit/s\"\ncables = 100_000\nspread = \"flow\"\n";
  check_says(cables, "makes more links than are possible");
  const std::string crossbar = "[generator]\nkind = \"crossbar\"\nrate = \"1 Gbit/s\"\n";
  CHECK_EQ(said(crossbar + "hosts = 99_999\n"), "nothing");
  check_says(crossbar + "hosts = 100_000\n", "are more than the 100000");
  check_says("[generator]\nkind = \"crossbar\"\nhosts = \"@/etc/passwd\"\n", "hosts");
}

TEST(a_name_of_the_catalogue_that_is_not_there_says_where_it_was_looked_for) {
  CHECK_THROWS_SAYING(UsageError, "there is no network \"no-such-network\"", read_network("no-such-network"));
  CHECK_THROWS_SAYING(UsageError, "there is no such file", read_network("./no-such-file.toml"));
  CHECK_THROWS_SAYING(UsageError, "there is no such file", read_network("/dev/zero"));
}

TEST(rates_and_prices_as_text) {
  CHECK_EQ(parse_rate("100 Mbit/s"), 1e8);
  CHECK_EQ(parse_rate("1.6Gbit/s"), 1.6e9);
  CHECK_EQ(parse_rate(" 12.5 MB/s "), 1e8);
  CHECK_EQ(parse_rate("0 bit/s"), 0.0);
  for (const auto* text :
       {"", "100", "Mbit/s", "1 mbit/s", "1e3 bit/s", "-1 bit/s", "inf bit/s", "1.2.3 bit/s", "1 Mbit/s x"})
    CHECK_THROWS_SAYING(UsageError, "is not a rate", parse_rate(text));
  for (const auto* text : {"1 Gbps", "1Gb/s", "1 Gbit", "1 Gbits/s"})
    CHECK_THROWS_SAYING(UsageError, "write \"1 Gbit/s\"", parse_rate(text));
  CHECK_THROWS_SAYING(UsageError, "write \"1 kB/s\"", parse_rate("1 KBps"));
  using Price = std::pair<double, std::string>;
  CHECK_EQ(parse_price("818 USD"), Price(818, "USD"));
  CHECK_EQ(parse_price("0.5EUR"), Price(0.5, "EUR"));
  for (const auto* text : {"", "818", "USD", "818 usd", "818 USDT", "-1 USD", "1e3 USD"})
    CHECK_THROWS_SAYING(UsageError, "is not a price", parse_price(text));
}

TEST(a_parameter_may_be_a_rate) {
  const std::array known = {
      Parameter{.name = "rate", .kind = Parameter::Kind::rate, .initial = "1 Gbit/s", .minimum = 1}};
  CHECK_EQ(Parameters(known, {}, "test").real("rate"), 1e9);
  CHECK_EQ(Parameters(known, {{"rate", "2 MB/s"}}, "test").real("rate"), 16e6);
  CHECK_THROWS_SAYING(UsageError, "out of range", Parameters(known, {{"rate", "0 bit/s"}}, "test"));
  CHECK_THROWS_SAYING(UsageError, "is not a rate", Parameters(known, {{"rate", "5"}}, "test"));
}
