/** What the log does while its output cannot be written. The processes are in test/cli/serve-log.test.ts. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { LogOutput, lostLines } from '../../src/telemetry/log.ts'
import { until } from '../support/until.ts'

/** An output that takes `room` bytes. */
function createOutput () {
  const output = { room: Infinity, text: '', attempts: 0 }
  const log = new LogOutput((bytes) => {
    output.attempts++
    if (output.room === 0) throw Object.assign(new Error(), { code: 'ENOSPC' })
    const taken = bytes.subarray(0, Math.min(output.room, bytes.length))
    output.text += taken
    output.room -= taken.length
    return taken.length
  })
  return { output, log }
}

t.test('a line is written before the call returns', async (t) => {
  const { output, log } = createOutput()
  log.write('one\n')
  t.equal(output.text, 'one\n')
  t.equal(output.attempts, 1)
})

t.test('lines that cannot be written wait in their order; a line that was cut off goes ' +
  'on where it ended', async (t) => {
  const { output, log } = createOutput()
  output.room = 2
  log.write('äß\n')
  for (let line = 0; line < 100; line++) log.write(`${line}\n`)
  t.equal(output.text, 'ä')
  t.equal(output.attempts, 2, 'no attempt for each line')
  output.room = Infinity
  await until('all is written', () => output.text.endsWith('99\n'))
  t.equal(output.text, `äß\n${Array.from({ length: 100 }, (_, line) => `${line}\n`).join('')}`)
  log.write('later\n')
  t.ok(output.text.endsWith('99\nlater\n'), 'the next line is written at once again')
})

t.test('at most one megabyte waits; one line says how many lines are lost', async (t) => {
  const { output, log } = createOutput()
  const before = lostLines()
  output.room = 0
  const line = `${'x'.repeat(1023)}\n`
  for (let count = 0; count < 1500; count++) log.write(line)
  log.write('a\nb\n'.padEnd(2000, 'c') + '\n')
  t.equal(lostLines() - before, 1500 - 1024 + 3)
  output.room = Infinity
  await until('all is written', () => output.text.includes('lost'))
  await sleep(50)
  t.equal(output.text.slice(0, 1024 * 1024), line.repeat(1024))
  t.match(JSON.parse(output.text.slice(1024 * 1024)), {
    level: 50, pid: process.pid, lines: 479, msg: 'lines were lost because the log could not be written'
  })
  log.write('x\n')
  t.ok(output.text.endsWith('}\nx\n'), 'it is said once')
})

t.test('attempts become rarer, up to one a second', async (t) => {
  const { output, log } = createOutput()
  output.room = 0
  log.write('x\n')
  await sleep(600)
  t.ok(output.attempts >= 2 && output.attempts <= 7, `${output.attempts} attempts`)
})
