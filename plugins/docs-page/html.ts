/**
 * The static page. It contains nothing about any database. Paths are relative to `{prefix}/docs`. If the documents are public, the
 * page opens them without a token.
 */
export const createHtml = (isPublic: boolean): string => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Row Query</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="docs/page.css">
</head>
<body data-documents="${isPublic ? 'public' : 'private'}">
  <noscript>This page needs JavaScript.</noscript>
  <script src="docs/page.js" type="module"></script>
</body>
</html>
`
