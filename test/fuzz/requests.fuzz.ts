/** Sends random methods, paths, headers and framing over a socket: only a valid token on a valid path gets rows. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { catalogue } from '../../src/errors.ts'
import { onEachEngine, TOKEN, type Answer } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { listen, readAnswers, type Wire } from '../support/wire.ts'
import { campaign, Counterexample, seed } from './campaign.ts'
import { contractFaults } from './contract.ts'
import { bytesOf, PATH, requests, type Request } from './requests.ts'

/** Share of the bodies that is sent in this way. */
const SHARE = 0.1
const ROWS = '{"success":true,"data":{"rows":[{"id":1}],"count":1}}'
const PATIENCE = 10_000

t.comment(`FUZZ_SEED=${seed}`)

/** How long a complete request may take to be answered before the client closes its side, in milliseconds. */
const HALF_CLOSE = 200

/**
 * The responses to a request after which the client sends nothing more. Node drops a request whose client closes its
 * side before the answer.
 */
async function send (wire: Wire, bytes: Buffer): Promise<Answer[] | 'nothing'> {
  const socket = await wire.open()
  const answers = readAnswers(socket)
  socket.write(bytes)
  await Promise.race([once(socket, 'data'), once(socket, 'close'), sleep(HALF_CLOSE)]).catch(() => {})
  socket.end()
  const timer = new AbortController()
  const got = await Promise.race([answers, sleep(PATIENCE, 'nothing' as const, { signal: timer.signal })])
  timer.abort()
  socket.destroy()
  return got
}

function faultsIn ({ method, path, authorization = '' }: Request, answers: Answer[] | 'nothing'): string[] {
  if (answers === 'nothing') return ['neither an answer nor an end']
  const [answer, ...others] = answers.filter(({ status }) => status !== 100)
  if (others.length > 0) return [`${others.length + 1} answers`]
  if (answer === undefined) return method === 'CONNECT' ? [] : ['no answer']
  if (answer.status === 200) {
    const meant = method === 'POST' && isPath(path) && /^bearer +/i.test(authorization) &&
      authorization.trim().endsWith(` ${TOKEN}`)
    return [
      ...meant ? [] : ['rows for a request that may not have them'],
      ...answer.text === ROWS ? [] : [`other rows: ${answer.text}`], ...contractFaults(answer, 'select')
    ]
  }
  // a response to HEAD has no body
  return answer.text === ''
    ? method === 'HEAD' && [...catalogue.values()].includes(answer.status) ? [] : [`${answer.status} without a body`]
    : contractFaults(answer, undefined)
}

/** Absolute URLs are valid too (RFC 9112, section 3.2.2). */
function isPath (path: string): boolean {
  try {
    return decodeURIComponent(path.replace(/[?#].*$/, '').replace(/^http:\/\/[^/]*/, '')) === PATH
  } catch {
    return false
  }
}

await onEachEngine(t, 'no request gets more than it may, and ' +
  'each gets one answer', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const wire = await listen(service)
  let sent = 0
  const property = fc.asyncProperty(fc.array(requests, { minLength: 1, maxLength: 20, size: 'max' }), async (each) => {
    sent += each.length
    service.log.splice(0)
    for (const request of each) {
      const bytes = bytesOf(request)
      const answers = await send(wire, bytes)
      const [fault] = faultsIn(request, answers)
      if (fault !== undefined) {
        throw new Counterexample(
        `${fault}\n${JSON.stringify(bytes.toString('latin1').slice(0, 3000))}\n   -> ` +
          `${JSON.stringify(answers).slice(0, 3000)}`
        )
      }
    }
  })
  await campaign(t, { name: 'requests', share: SHARE, property, sent: () => sent })
})
