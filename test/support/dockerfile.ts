/** Reads the Dockerfile, and does what its stages say in folders: there is no Docker where the tests run. */
import { cpSync, mkdirSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { readDocument } from './markdown.ts'
import { call } from './package.ts'

export interface Instruction { readonly name: string, readonly value: string }

export interface Stage {
  /** The number of the stage if it has no name. */
  readonly name: string
  readonly image: string
  readonly instructions: readonly Instruction[]
}

/** @throws Error for a line that is not an instruction */
export function readDockerfile (): Stage[] {
  const stages: Array<Stage & { readonly instructions: Instruction[] }> = []
  for (const line of readDocument('Dockerfile').split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const [, name = '', value = ''] = /^([A-Z]+) (\S.*)$/.exec(line) ?? []
    if (name === '') throw new Error(`not an instruction: ${line}`)
    if (name !== 'FROM') stages.at(-1)?.instructions.push({ name, value })
    else {
      const [image = '', , alias] = value.split(' ')
      stages.push({ name: alias ?? String(stages.length), image, instructions: [] })
    }
  }
  return stages
}

/** The names that .dockerignore lets through: it ignores everything else. */
export function readContext (): string[] {
  const [all, ...names] = readDocument('.dockerignore').split('\n').filter(
    (line) => line !== '' && !line.startsWith('#')
  )
  if (all !== '*') throw new Error('.dockerignore must ignore everything first')
  return names.map((line) => line.replace(/^!/, ''))
}

export interface Built {
  readonly folder: string
  /** Inside the folder. */
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
}

/** Runs the command of a RUN. */
export type RunCommand = (command: string, cwd: string) => Promise<void>

/** `sh -c`, as Docker does. */
export const runInShell: RunCommand = async (command, cwd) => { await call(cwd, 'sh', '-c', command) }

/** Builds a stage in an empty folder. COPY takes only what the context has. */
export async function buildStage (stage: Stage, folder: string, { context, others, run = runInShell }: {
  context: string, others: ReadonlyMap<string, string>, run?: RunCommand
}): Promise<Built> {
  let workdir = '/'
  const env: Record<string, string> = {}
  const inside = (path: string): string => join(folder, isAbsolute(path) ? path : join(workdir, path))
  for (const { name, value } of stage.instructions) {
    switch (name) {
      case 'WORKDIR':
        workdir = value
        mkdirSync(inside('.'), { recursive: true })
        break
      case 'ENV':
        for (const [, key = '', text = ''] of value.matchAll(/(\w+)=(\S+)/g)) env[key] = text
        break
      case 'COPY': {
        const [, from, paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(value) as RegExpExecArray
        const sources = paths.split(' ')
        const target = sources.pop() as string
        const source = from === undefined ? context : others.get(from) as string
        for (const path of sources) {
          cpSync(join(source, path), target.endsWith('/')
            ? join(inside(target), basename(path))
            : inside(target === '.' ? basename(path) : target), { recursive: true, verbatimSymlinks: true })
        }
        break
      }
      case 'RUN':
        await run(value.replaceAll(/(?<= )\/(?=row-query)/g, `${folder}/`), inside('.'))
        break
    }
  }
  return { folder, workdir: inside('.'), env }
}

/**
 * The list of an exec form, with the paths of the folder. @throws Error for the shell form, in which a shell would get
 * the signals
 */
export function readExec (value: string, { folder }: Pick<Built, 'folder'>): string[] {
  const [, list] = /(\[.*\])$/.exec(value) ?? []
  if (list === undefined) throw new Error(`not the exec form: ${value}`)
  return (JSON.parse(list) as string[]).map(
    (word) => word === 'node' ? process.execPath : word.replace(/^\//, `${folder}/`)
  )
}
