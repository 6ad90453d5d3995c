/** The static page. It contains nothing about any database. Paths are relative to `{prefix}/docs`. */
export const HTML = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Row Query</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="docs/swagger-ui/static/swagger-ui.css">
  <link rel="stylesheet" href="docs/page.css">
</head>
<body>
  <form id="form" autocomplete="off">
    <h1>Row Query</h1>
    <label>Token <input id="token" type="password" size="50" spellcheck="false" autocomplete="off"></label>
    <button>Open</button>
    <label>Database <select id="database" disabled></select></label>
    <label>Table <select id="table" disabled></select></label>
  </form>
  <p id="message" role="alert"></p>
  <main id="reference"></main>
  <script src="docs/swagger-ui/static/swagger-ui-bundle.js"></script>
  <script src="docs/page.js" type="module"></script>
</body>
</html>
`

export const CSS = `body { margin: 0; font-family: sans-serif; }
form { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 1em; align-items: center; padding: 0.6em 1.5em; background: #20323f; color: #fff; }
h1 { font-size: 1.1em; margin: 0; }
input, select, button { font: inherit; padding: 0.2em 0.5em; }
#message { margin: 1em 1.5em; color: #a00; }
#message:empty { display: none; }
.swagger-ui .info, .swagger-ui .scheme-container { display: none; }
.swagger-ui .curl-command { display: none; } /* contains the token */
`
