module pingress.io/tests/app

go 1.24
