import t from 'tap'
import { AnswerReader } from '../../bench/load/answer-reader.ts'

const answers: Record<string, { text: string, status: number }> = {
  'with a length': { status: 200, text: 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello\r\n\r\nyo' },
  'without a body': { status: 204, text: 'HTTP/1.1 204 No Content\r\nx: y\r\n\r\n' },
  'with an empty body': { status: 500, text: 'HTTP/1.1 500 Internal Server Error\r\ncontent-length:0\r\n\r\n' },
  'in chunks': { status: 200, text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\r\nc\r\nA\r\n0123456789\r\n0\r\n\r\n' },
  'in no chunk': { status: 404, text: 'HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n' }
}

for (const [name, { text, status }] of Object.entries(answers)) {
  t.test(`an answer ${name} ends with its last byte, however it is cut into pieces`, async (t) => {
    const bytes = Buffer.from(text)
    const reader = new AnswerReader()
    t.equal(reader.read(bytes), true, 'whole')
    t.equal(reader.status, status)
    for (let cut = 1; cut < bytes.length; cut++) {
      t.equal(reader.read(bytes.subarray(0, cut)), false, `the first ${cut} bytes`)
      t.equal(reader.read(bytes.subarray(cut)), true, `the rest after ${cut}`)
      t.equal(reader.status, status)
    }
    const last = [...bytes].map((byte) => reader.read(Buffer.of(byte)))
    t.same(last, [...Array<boolean>(bytes.length - 1).fill(false), true], 'byte by byte')
  })
}
