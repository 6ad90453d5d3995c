/**
 * What a run of the tests prints: a line for each file as it ends with its failures, each skipped test with its reason,
 * and all failures again at the end.
 */

import { COUNTED } from './protocol.ts'

/** The result of a file is a line without indentation: `ok 3 - test/http/select.test.ts # time=812.1ms`. */
const FILE = /^(ok|not ok) \d+ - (.+?)(?: # time=([\d.]+m?s))?$/
const ASSERTION = /^ +(not ok|ok) \d+ - (.*)$/
const PLAN = new RegExp(`^ +1\\.\\.\\d+ # ${COUNTED}(\\d+)$`)
const SUBTEST = /^ *# Subtest/
const SKIPPED = /^(.*?) ?# SKIP ?(.*)$/i

/** Longer lines, such as large values that differ, are cut. */
const MAX_LINE = 1000

export interface Report {
  /**
   * Returns what reads TAP 14 (https://testanything.org) of one process, and tells how many files of it have failed.
   */
  source (): { read: (text: string) => void, failed: () => number }
  /** Notes that a file failed without a line of its own. */
  fail (file: string, reason: string): void
  /** Prints the failures again and the totals. Returns whether all files passed. */
  end (): boolean
}

/** `isVerbose`: prints the lines of TAP as they come. `onFailure` is called after each file that failed. */
export function createReport ({ isVerbose, onFailure }: { isVerbose: boolean, onFailure: () => void }): Report {
  const totals = { files: 0, passed: 0, failed: 0, skipped: 0 }
  const failures = new Map<string, string[]>()
  const started = performance.now()
  const print = (line: string): void => {
    process.stdout.write(`${line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line}\n`)
  }

  function fail (file: string, lines: string[]): void {
    failures.set(file, lines)
    print(`FAIL ${file}`)
    for (const line of lines) print(line)
    onFailure()
  }

  function source (): ReturnType<Report['source']> {
    let rest = ''
    let assertions = 0
    let failed = 0
    let isDiagnostic = false
    let lines: string[] = []

    function readLine (line: string): void {
      if (isVerbose) print(line)
      const [isFile, result, file = '', time] = FILE.exec(line) ?? []
      const [, counted] = PLAN.exec(line) ?? []
      const [isAssertion, outcome, text = ''] = ASSERTION.exec(line) ?? []
      if (isFile !== undefined) endFile(result === 'ok', file, time ?? '')
      else if (isAssertion !== undefined) readAssertion(outcome === 'ok', text)
      else if (counted !== undefined) {
        assertions += Number(counted)
        totals.passed += Number(counted)
      } else if (SUBTEST.test(line)) isDiagnostic = false
      if (isDiagnostic) lines.push(line)
      if (line.trim() === '...') isDiagnostic = false
    }

    function readAssertion (isPassed: boolean, text: string): void {
      const [isSkipped, name, reason] = SKIPPED.exec(text) ?? []
      isDiagnostic = !isPassed
      assertions++
      if (isSkipped !== undefined) print(`skipped: ${name}: ${reason || 'without a reason'}`)
      totals[isSkipped !== undefined ? 'skipped' : isPassed ? 'passed' : 'failed']++
    }

    function endFile (isPassed: boolean, file: string, time: string): void {
      totals.files++
      if (isPassed) print(`pass ${file} (${assertions} assertions, ${time})`)
      else {
        failed++
        fail(file, lines)
      }
      assertions = 0
      lines = []
      isDiagnostic = false
    }

    return {
      read (text) {
        const read = (rest + text).split('\n')
        rest = read.pop() as string
        for (const line of read) readLine(line)
      },
      failed: () => failed
    }
  }

  return {
    source,
    fail (file, reason) {
      totals.files++
      totals.failed++
      fail(file, [`  ${reason}`])
    },
    end () {
      if (failures.size > 0) print('')
      for (const [file, lines] of failures) {
        print(`FAIL ${file}: run it alone by  npm test -- ${file}`)
        for (const line of lines) print(line)
      }
      print(`# ${totals.files} files, ${failures.size} failed; ${((performance.now() - started) / 1000).toFixed(1)} s`)
      print(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
      return failures.size === 0
    }
  }
}
