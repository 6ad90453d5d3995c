/** What a test run prints: a line for each file, the failures in full, and each skipped test with its reason. */
import { Transform } from 'node:stream'

/** The result of a file is a line without indentation: `ok 3 - test/http/select.test.ts # time=812.1ms`. */
const FILE = /^(ok|not ok) \d+ - (.+?)(?: # time=([\d.]+m?s))?$/
const ASSERTION = /^ +(not ok|ok) \d+ - (.*)$/
const SKIPPED = /^(.*?) ?# SKIP ?(.*)$/i
/** The totals at the end of the run, and why it was given up. */
const SUMMARY = /^(# (?!Subtest)|Bail out)/

/** Takes TAP 14 (https://testanything.org) as tap prints it. */
export default class FileReporter extends Transform {
  #rest = ''
  #assertions = 0
  #isFailure = false
  #failures: string[] = []

  override _transform (chunk: Buffer, _encoding: string, done: () => void): void {
    const lines = (this.#rest + chunk.toString()).split('\n')
    this.#rest = lines.pop() as string
    for (const line of lines) this.#read(line)
    done()
  }

  #read (line: string): void {
    const [isAssertion, result, text = ''] = ASSERTION.exec(line) ?? []
    const [isFile, fileResult, file, time] = FILE.exec(line) ?? []
    if (isAssertion !== undefined) this.#readAssertion(result === 'not ok', text)
    else if (isFile !== undefined) this.#endFile(`${fileResult === 'ok' ? 'pass' : 'FAIL'} ${file} (${this.#assertions} assertions, ${time})`)
    if (this.#isFailure) this.#failures.push(line)
    if (line.trim() === '...') this.#isFailure = false
    if (SUMMARY.test(line)) this.#print(line)
  }

  #readAssertion (failed: boolean, text: string): void {
    const [skipped, name, reason] = SKIPPED.exec(text) ?? []
    if (skipped !== undefined) this.#print(`skipped: ${name}: ${reason || 'without a reason'}`)
    this.#isFailure = failed
    this.#assertions++
  }

  #endFile (line: string): void {
    this.#print(line)
    for (const failure of this.#failures) this.#print(failure)
    this.#assertions = 0
    this.#failures = []
    this.#isFailure = line.startsWith('FAIL') // the diagnostics of the file itself follow
  }

  #print (line: string): void {
    this.push(line + '\n')
  }
}
