/** The client is small, because browsers load it, and needs nothing but standard functions of a runtime. */
import { build } from 'esbuild'
import t from 'tap'
import { ROOT } from '../support/markdown.ts'

/** In bytes, as browsers load it before they unpack it. */
const MAXIMUM = 5600

t.test('the client has less than 5.6 kB minified, and imports nothing', async (t) => {
  const { outputFiles: [file], metafile } = await build({
    entryPoints: [`${ROOT}src/client/index.ts`], bundle: true, minify: true, format: 'esm', platform: 'neutral', write: false, metafile: true
  })
  t.ok((file?.contents.length ?? Infinity) < MAXIMUM, `${file?.contents.length} bytes`)
  t.same(Object.keys(metafile.inputs).filter((path) => !/^src\/(client|json)\//.test(path)), [])
})
