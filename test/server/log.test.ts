import t from 'tap'
import { openLogStream, type Output } from '../../src/server/log.ts'

/** What is written for a line of the log. */
async function written (line: object, terminal: Partial<Output> = {}): Promise<string> {
  let text = ''
  const stream = await openLogStream('pretty', { ...terminal, write: (part) => { text += part } })
  stream?.write(`${JSON.stringify({ level: 30, time: Date.now(), pid: 1, hostname: 'host', ...line })}\n`)
  return text
}

t.test('the log is readable on a terminal or where it is wanted, otherwise JSON', async (t) => {
  const write = (): void => {}
  for (const [format, isTTY, isReadable] of [['auto', true, true], ['auto', false, false], ['pretty', false, true], ['json', true, false]] as const) {
    t.equal(await openLogStream(format, { write, isTTY }) !== undefined, isReadable, `${format}, ${isTTY}`)
  }
  t.equal(await openLogStream('auto', { write }), undefined)
})

t.test('a line is written at once, with its time, level, message and fields', async (t) => {
  t.match(await written({ msg: 'request', status: 200, table: 'orders' }), /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: request \{"status":200,"table":"orders"\}\n$/)
  t.match(await written({ level: 50, msg: 'it failed', err: { type: 'Error', message: 'no', stack: 'Error: no\n    at here' } }), /ERROR: it failed[^]*\n +at here/)
  t.match(await written({ msg: 'x' }, { hasColors: () => true }), '\u001b[32mINFO\u001b[39m')
})

t.test('names that clients send cannot control the terminal', async (t) => {
  const text = await written({ msg: 'a\u001b[2J', table: 'b\u009b2J\u007f\u0007', path: 'c:\\u001b' })
  t.same([...text].filter((character) => character !== '\n' && (character < ' ' || (character >= '\u007f' && character < '\u00a0'))), [])
  t.match(text, 'a\ufffd[2J')
  t.match(text, String.raw`"path":"c:\u001b"`)
})
