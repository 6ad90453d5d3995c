/** The options of `npm run bench --`. */
import { parseArgs } from 'node:util'
import type { Effort } from './measure/rounds.ts'

export interface Options extends Effort {
  readonly quick: boolean
  /** Parts of names; all if undefined. */
  readonly workloads: readonly string[] | undefined
  readonly contenders: readonly string[] | undefined
  /** The folder of another checkout of this project, which takes part as it is built there. */
  readonly against: string | undefined
}

export const HELP = `npm run bench [-- options]

  --quick              short rounds and little growth: under three minutes, into bench/results/quick
  --workloads a,b      only those whose name contains one of these, or exports, imports; results are printed, not written
  --contenders a,b     the same for who takes part
  --against folder     also another checkout of this project, after \`npm run build\` there: what a change costs, in one run
  --starts n           how often everybody is started anew for a workload
  --rounds n           rounds of each workload; a multiple of six gives every order of the main contenders
  --seconds n          length of one turn
`

/** The warm-up: until V8 has compiled hot code and the heap has grown. */
const FULL: Effort = { starts: 2, rounds: 18, seconds: 0.5, warmUpRequests: 30_000, longestWarmUp: 60 }
const QUICK: Effort = { starts: 1, rounds: 3, seconds: 0.4, warmUpRequests: 3000, longestWarmUp: 0.8 }

/** Undefined if help is requested. @throws Error if an option is unknown or not a number */
export function readOptions (args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      workloads: { type: 'string' },
      contenders: { type: 'string' },
      against: { type: 'string' },
      starts: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' }
    }
  })
  if (values.help) return undefined
  const effort = values.quick ? QUICK : FULL
  return {
    ...effort,
    starts: toNumber('starts', values.starts) ?? effort.starts,
    rounds: toNumber('rounds', values.rounds) ?? effort.rounds,
    seconds: toNumber('seconds', values.seconds) ?? effort.seconds,
    quick: values.quick,
    workloads: toNames(values.workloads),
    contenders: toNames(values.contenders),
    against: values.against
  }
}

function toNumber (name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (!(number > 0)) throw new Error(`--${name} ${text}: must be a number above 0`)
  return number
}

function toNames (text: string | undefined): string[] | undefined {
  return text?.split(',').map((name) => name.trim())
}

/** Whether a name was selected. */
export function isWanted (name: string, parts: readonly string[] | undefined): boolean {
  return parts === undefined || parts.some((part) => name.includes(part))
}
