/** Bundles the program and the style of the docs page for browsers. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

export interface Bundle { readonly script: Uint8Array, readonly style: Uint8Array }

const root = join(import.meta.dirname, '..')

export async function bundlePage (): Promise<Bundle> {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/preact/package.json'), 'utf8')) as { version: string }
  const license = readFileSync(join(root, 'node_modules/preact/LICENSE'), 'utf8')
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['page/main.tsx'],
    outdir: 'page',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    // the first with popovers and light-dark() in the style
    target: ['chrome123', 'firefox125', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
    charset: 'utf8',
    banner: { js: `/* Contains preact ${version}:\n${license.trim()} */` }
  })
  const contentOf = (ending: string): Uint8Array => (outputFiles.find(({ path }) => path.endsWith(ending)) as { contents: Uint8Array }).contents
  return { script: contentOf('.js'), style: contentOf('.css') }
}
