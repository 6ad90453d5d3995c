/**
 * The form of golden files of bodies: lines of bodies, then what becomes of each of them, indented. A body that does
 * not fit into a line ends it with `\` and continues in the next.
 */
import type { ServiceError } from '../../src/errors.ts'

const WIDTH = 120

/** Bodies as they were written, without their outcomes. */
export function bodiesOf (text: string): string[] {
  const bodies: string[] = []
  let open = false
  for (const line of text.split('\n').filter((line) => !line.startsWith('  '))) {
    if (open) bodies.push(`${bodies.pop()}\n${line}`)
    else bodies.push(line)
    open = line.endsWith('\\')
  }
  return bodies
}

/** The body that is sent. */
export const joined = (body: string): string => body.replaceAll('\\\n', '')

/** The lines of a file: bodies that follow each other with the same outcome have it once, below the last of them. */
export function linesOfEntries (entries: ReadonlyArray<readonly [body: string, outcome: readonly string[]]>): string[] {
  return entries.flatMap(([body, outcome], place) => {
    const [, next] = entries[place + 1] ?? []
    return outcome.length > 0 && next?.join('\n') === outcome.join('\n')
      ? [body]
      : [body, ...outcome.flatMap((line) => wrapped(`  ${line}`))]
  })
}

function wrapped (line: string): string[] {
  if (line.length <= WIDTH) return [line]
  const space = line.lastIndexOf(' ', WIDTH)
  const end = line.slice(0, space).trim() === '' ? WIDTH : space
  return [line.slice(0, end), ...wrapped(`    ${line.slice(end).trimStart()}`)]
}

/** The errors in a file: a message is shown whole once, then without its middle, unless another looks like it then. */
export class ShownErrors {
  readonly #messages = new Map<string, string>()
  readonly #shown = new Map<string, string>()

  /** The whole error. */
  textOf ({ statusCode, code, details, message }: ServiceError): string {
    const causes = details.map((each) => ` ${each.path}${each.message === message ? '' : ` (${each.message})`}`)
    const text = `${statusCode} ${code}${causes.join()}: ${message}`
    this.#messages.set(text, message)
    return text
  }

  /** What the file shows of a text. */
  show (text: string): string {
    const message = this.#messages.get(text)
    if (message === undefined || message.length <= 90) return text
    const short = `${message.slice(0, 40)} … ${message.slice(-25)}`
    const first = this.#shown.get(short)
    this.#shown.set(short, first ?? message)
    return first === message ? text.slice(0, -message.length) + short : text
  }
}
