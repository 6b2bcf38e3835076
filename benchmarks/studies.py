"""All figures of the studies of published attacks, beside what was expected of them, and seconds of CPU."""

from time import process_time

from confide.attacks.studies import EXPECTED, STUDIES

if __name__ == "__main__":
    for name, study in STUDIES.items():
        start = process_time()
        result = study.run()
        print(f"\n{study.title} ({study.source}): {name}, {process_time() - start:.1f} s")
        for figure in result.figures:
            said = EXPECTED[name].get(figure.what)
            known = said is not None and figure.case in said.values
            words = f"{said.origin:>8} {said.values[figure.case]:<9.4g}" if said and known else " " * 18
            print(f"  {figure.what + ': ' + figure.case:<66} {words} {figure.value:.4g}")
