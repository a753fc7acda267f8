"""`crosscut price`: prices networks from price books, and weighs price against performance."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from crosscut.base.errors import EXIT_OK, EXIT_USAGE, UsageError
from crosscut.cli.parsing.parser import flag, option, tell
from crosscut.pricing import asking

EPILOG = """
examples:
  crosscut price xibalba-er16                              part by part, from the book that lists it
  crosscut price xibalba-er16 xibalba-e7-config1 --nodes 16-128:16
  crosscut price leaf-spine-100g-64 --book my-quotes.toml --nodes 32-2048
  crosscut price xibalba-er16 --performance hpl.json       dollars per MFlop/s, as HPL measured there
  crosscut price xibalba-er16 xibalba-e7-config1 --performance cg.profile     for a traced program
  crosscut price xibalba-er16 xibalba-e7-config1 xibalba-maintenance --mix mix.toml -o front.svg

More in docs/howto-price.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "networks",
        nargs="+",
        metavar="NETWORK",
        help="Description (TOML), or a name from `crosscut network list`.",
    )
    option(parser, "--book FILE", str,
           "Price book, or the name of one that comes with crosscut. May be repeated. Default: the "
           "book that names the network, else the prices in the network's own file.",
           dest="books", action="append", default=[])  # fmt: skip
    option(parser, "--nodes N[,…]", asking.parse_nodes,
           "Numbers of nodes: 16,64; or 16-1024, doubling; or 16-1024:16, in steps of 16. Default: "
           "each network's own.")  # fmt: skip
    option(parser, "--node-price PRICE", asking.parse_node_price,
           "Price of a node without its network, instead of the book's: '3300 USD' or "
           "'3200-3400 USD'.")  # fmt: skip
    option(parser, "--performance [NETWORK=]FILE", str,
           "Output of `crosscut workload hpl --json` on a network: adds the price of one MFlop/s, "
           "for that number of nodes. Or the folder of a trace (crosscut profile --trace): weighs "
           "the program's predicted time on each network against the price, as --mix does. May be "
           "repeated.", action="append", default=[])  # fmt: skip
    option(parser, "--mix FILE", Path,
           "Mix of work: a file that lists its parts, and how much each counts. Weighs performance "
           "against price.")  # fmt: skip
    option(parser, "-o --out FILE", Path,
           "Draw a picture (.svg, .png, .pdf or .html): with --mix or a trace the Pareto front, "
           "otherwise the price of a node over --nodes.")  # fmt: skip
    flag(parser, "--force", "Replace the picture if it exists.")
    flag(parser, "--json", "Print one JSON object on standard output.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.pricing import performing, showing

    if args.out:
        showing.check(args.out, overwrite=args.force)
    traces = [path for word in args.performance if performing.is_trace(path := Path(word))]
    return _judge(args, traces) if args.mix or traces else _price(args)


def _price(args: argparse.Namespace) -> int:
    from crosscut.pricing import performance, showing
    from crosscut.pricing import report as telling

    books = asking.named_books(args.books)
    measured = performance.assigned(args.performance, args.networks)
    priced, worth = [], []
    for network in dict.fromkeys(args.networks):
        own = measured.get(network)
        sizes = (performance.nodes_of(own, args.nodes),) if own else args.nodes or (None,)
        found = [asking.price(network, nodes, books, args.node_price) for nodes in sizes]
        priced += found
        worth += [performance.Worth(one, own) for one in found if own]
    if not args.json and not any(one.bill for one in priced):
        raise UsageError("; ".join(dict.fromkeys(one.reason for one in priced)))
    if args.out:
        showing.write(args.out, showing.curves(priced))
    tell(args, lambda: telling.as_json(priced, worth), lambda screen: telling.render(screen, priced, worth))
    _say_where(args)
    return EXIT_OK if any(one.bill for one in priced) else EXIT_USAGE


def _judge(args: argparse.Namespace, traces: Sequence[Path]) -> int:
    from crosscut.pricing import judging, mix, performing, report_mix, showing
    from crosscut.session.progress import reporter

    if args.mix and args.performance:
        raise UsageError(
            "--performance cannot be combined with --mix; name the files in the mix (hpl = { NETWORK = … }, "
            "trace = …)"
        )
    if len(traces) < len(args.performance):
        raise UsageError(
            "--performance takes either traces or results of HPL; to combine them, write a mix (--mix)"
        )
    if args.nodes:
        raise UsageError(
            "--nodes cannot be combined with a mix or a trace, which sets the number of ranks (ranks = 64); "
            "each network gets as many nodes as these ranks need"
        )
    asked = mix.load(args.mix) if args.mix else performing.mix_of(traces)
    books = asking.named_books(args.books)

    def told(text: str) -> None:
        if not args.json and sys.stderr.isatty():
            print(f"crosscut: {text}", file=sys.stderr)

    with reporter(quiet=True) as listener:
        found = judging.judge(args.networks, asked, books, args.node_price, listener, told)
    if args.out:
        showing.write(args.out, showing.front(found))
    tell(args, lambda: report_mix.as_json(found), lambda screen: report_mix.render(screen, found))
    _say_where(args)
    return EXIT_OK


def _say_where(args: argparse.Namespace) -> None:
    if args.out and not args.json:
        print(f"picture: {args.out}")
