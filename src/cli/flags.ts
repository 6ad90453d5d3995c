import { parseArgs, type ParseArgsConfig } from 'node:util'
import { ConfigError } from '../config-errors.ts'
import { findNearest } from '../nearest.ts'
import type { CommandName } from './commands.ts'

/** Parses the arguments of a command like `parseArgs`. @throws ConfigError with a line for each unknown flag, which suggests a similar one */
export function parseFlags<T extends ParseArgsConfig> (command: CommandName, config: T): ReturnType<typeof parseArgs<T>> {
  const { options = {} } = config
  const { tokens = [] } = parseArgs({ ...config, strict: false, tokens: true })
  const unknown = tokens.flatMap((token) => token.kind === 'option' && !Object.hasOwn(options, token.name) ? token : [])
  if (unknown.length > 0) throw new ConfigError(unknown.map(({ rawName, name }) => `${rawName}: is not a flag of ${command}; ${describeFlags(name, Object.keys(options))}`))
  return parseArgs(config)
}

function describeFlags (name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  return nearest === undefined ? `the flags are ${known.map((each) => `--${each}`).join(', ')}` : `did you mean --${nearest}?`
}
