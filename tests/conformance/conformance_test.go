// The official conformance suite of Gateway API. In: the suite's own flags, and those below; the cluster
// of KUBECONFIG. Out: what the suite prints, and a line of JSON for each case that has ended.
package conformance_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

var (
	cases = flag.String("cases", "",
		"names of the cases to run, separated by commas, whether or not their features are supported; empty for all that are")
	outcomes = flag.String("outcomes", "",
		"file with the outcomes of cases, to which those of this run are added; cases that it has are not run again")
)

type outcome struct {
	Case string `json:"case"`
	// passed, failed or skipped.
	Result  string  `json:"result"`
	Seconds float64 `json:"seconds"`
}

// The program that starts this one recognizes the end of a case by the line.
const ended = "case ended: "

func TestConformance(t *testing.T) {
	earlier := readOutcomes(t)
	options := conformance.DefaultOptions(t)
	chosen := tests.ConformanceTests
	if *cases != "" {
		chosen = chooseCases(t, strings.Split(*cases, ","))
		for _, test := range chosen {
			options.SupportedFeatures = append(options.SupportedFeatures, test.Features...)
		}
	}
	starts := map[string]time.Time{}
	wrapped := make([]suite.ConformanceTest, 0, len(chosen))
	for _, test := range chosen {
		if result, isKnown := earlier[test.ShortName]; isKnown {
			wrapped = append(wrapped, repeatOutcome(test, result))
			continue
		}
		run := test.Test
		test.Test = func(t *testing.T, s *suite.ConformanceTestSuite) {
			starts[test.ShortName] = time.Now()
			run(t, s)
		}
		wrapped = append(wrapped, test)
	}
	tests.ConformanceTests = wrapped
	options.Hook = func(t *testing.T, test suite.ConformanceTest, _ *suite.ConformanceTestSuite) {
		if _, isKnown := earlier[test.ShortName]; isKnown {
			return
		}
		seconds := 0.0
		if start, hasRun := starts[test.ShortName]; hasRun {
			seconds = time.Since(start).Seconds()
		}
		writeOutcome(t, outcome{test.ShortName, resultOf(t), seconds})
	}
	conformance.RunConformanceWithOptions(t, options)
}

func chooseCases(t *testing.T, names []string) []suite.ConformanceTest {
	chosen := make([]suite.ConformanceTest, 0, len(names))
	for _, name := range names {
		at := slices.IndexFunc(tests.ConformanceTests, func(test suite.ConformanceTest) bool {
			return test.ShortName == name
		})
		if at == -1 {
			t.Fatalf("the suite has no case %s", name)
		}
		chosen = append(chosen, tests.ConformanceTests[at])
	}
	return chosen
}

// repeatOutcome gives a case the outcome that it had, so that a report counts it.
func repeatOutcome(test suite.ConformanceTest, result string) suite.ConformanceTest {
	test.Manifests = nil
	test.Test = func(t *testing.T, _ *suite.ConformanceTestSuite) {
		if result == "failed" {
			t.Error("failed in an earlier run")
		}
	}
	return test
}

func resultOf(t *testing.T) string {
	switch {
	case t.Failed():
		return "failed"
	case t.Skipped():
		return "skipped"
	default:
		return "passed"
	}
}

// readOutcomes has the results by case.
func readOutcomes(t *testing.T) map[string]string {
	results := map[string]string{}
	if *outcomes == "" {
		return results
	}
	file, err := os.Open(*outcomes)
	if os.IsNotExist(err) {
		return results
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var one outcome
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", *outcomes, err)
		}
		results[one.Case] = one.Result
	}
	return results
}

func writeOutcome(t *testing.T, one outcome) {
	line, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	// On a line of its own, whatever was printed before.
	fmt.Printf("\n%s%s\n", ended, line)
	// A skipped case has no outcome to keep: its features may be supported in the next run.
	if *outcomes == "" || one.Result == "skipped" {
		return
	}
	file, err := os.OpenFile(*outcomes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}
